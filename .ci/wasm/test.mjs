// Known answers, errors and implicit rejection of a WebAssembly module: node test.mjs MODULE DIGESTS
// All that surrounds the module is JavaScript and Node's own SHAKE. DIGESTS is the Rust source that holds the
// published digests; how they come about is said there, at `accumulated`.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [file, digests] = process.argv.slice(2);
const TESTS = 100;
const OK = 0, LENGTH = 1, NOT_REDUCED = 2, KEY_HASH = 3, NO_SUCH_SET = 9;
const SETS = [
  { k: 2, name: 'ML-KEM-512', ek: 800, dk: 1632, ct: 768 },
  { k: 3, name: 'ML-KEM-768', ek: 1184, dk: 2400, ct: 1088 },
  { k: 4, name: 'ML-KEM-1024', ek: 1568, dk: 3168, ct: 1568 },
];

const shake = (name, parts, outputLength) => {
  const hash = createHash(name, { outputLength });
  for (const part of parts) hash.update(part);
  return hash.digest();
};

// The host's part: what the module is to draw next.
let toDraw = [];
const random = (to, length) => {
  const bytes = toDraw.shift();
  assert.equal(bytes?.length, length, 'bytes that the module draws');
  memory().set(bytes, to);
};
const compiled = await WebAssembly.compile(readFileSync(file));
assert.deepEqual(WebAssembly.Module.imports(compiled).map(({ module, name }) => `${module}.${name}`), ['host.random']);
const { exports } = await WebAssembly.instantiate(compiled, { host: { random } });
const memory = () => new Uint8Array(exports.memory.buffer);

// Inputs and outputs have a page that is the module's no more than the host makes it.
const PAGE = 65536;
const page = exports.memory.grow(1) * PAGE;
const [EK, DK, CT, SECRET] = [0, 4096, 8192, 12288].map((offset) => page + offset);
const put = (at, bytes) => memory().set(bytes, at);
const get = (at, length) => Buffer.from(memory().slice(at, at + length));
const unused = (...ranges) => {
  // What is written must lie in the ranges alone.
  const bytes = memory().slice(page, page + PAGE);
  for (const [at, length] of ranges) bytes.fill(0, at - page, at - page + length);
  assert.ok(bytes.every((byte) => byte === 0), 'bytes written outside the outputs');
};
const fresh = () => memory().fill(0, page, page + PAGE);

const generate = (set, seed) => {
  fresh();
  toDraw = [seed];
  assert.equal(exports.generate(set.k, EK, DK), OK);
  unused([EK, set.ek], [DK, set.dk]);
  return { ek: get(EK, set.ek), dk: get(DK, set.dk) };
};
const parse = (set, ek) => {
  put(EK, ek);
  return exports.parse(set.k, EK, ek.length);
};
const encap = (set, ek, m) => {
  fresh();
  put(EK, ek);
  toDraw = m ? [m] : [];
  const status = exports.encap(set.k, EK, ek.length, CT, SECRET);
  if (status !== OK) return { status };
  unused([EK, ek.length], [CT, set.ct], [SECRET, 32]);
  return { status, ct: get(CT, set.ct), secret: get(SECRET, 32) };
};
const decap = (set, dk, ct) => {
  fresh();
  put(DK, dk);
  put(CT, ct);
  const status = exports.decap(set.k, DK, dk.length, CT, ct.length, SECRET);
  if (status !== OK) return { status };
  unused([DK, dk.length], [CT, ct.length], [SECRET, 32]);
  return { status, secret: get(SECRET, 32) };
};

const published = [...readFileSync(digests, 'utf8').matchAll(/\(\s*(\d),\s*([\d_]+),\s*"(\w{64})",\s*"(\w{64})",?\s*\)/g)]
  .map(([, k, tests, withoutDk, withDk]) => ({ k: +k, tests: +tests.replaceAll('_', ''), withoutDk, withDk }));

const accumulated = (set) => {
  const length = 96 + set.ct;
  const stream = shake('shake128', [], TESTS * length);
  const [withoutDk, withDk] = [[], []];
  for (let test = 0; test < TESTS; test++) {
    const draw = stream.subarray(test * length, (test + 1) * length);
    const { ek, dk } = generate(set, draw.subarray(0, 64));
    assert.equal(parse(set, ek), OK);
    const { ct, secret } = encap(set, ek, draw.subarray(64, 96));
    assert.deepEqual(decap(set, dk, ct), { status: OK, secret });
    const rejected = decap(set, dk, draw.subarray(96)).secret;
    withoutDk.push(ek, ct, secret, rejected);
    withDk.push(ek, dk, ct, secret, rejected);
  }
  const expected = published.find((row) => row.k === set.k && row.tests === TESTS);
  assert.ok(expected, `no digest of ${set.name} over ${TESTS} tests in ${digests}`);
  assert.equal(shake('shake128', withoutDk, 32).toString('hex'), expected.withoutDk, `${set.name} without dk`);
  assert.equal(shake('shake128', withDk, 32).toString('hex'), expected.withDk, `${set.name} with dk`);
};

const errors = (set, { ek, dk }, ct) => {
  for (const wrong of [Buffer.alloc(0), ek.subarray(1), Buffer.concat([ek, Buffer.alloc(1)])]) {
    assert.equal(parse(set, wrong), LENGTH);
    assert.equal(encap(set, wrong).status, LENGTH);
  }
  for (const wrong of [Buffer.alloc(0), dk.subarray(1), Buffer.concat([dk, Buffer.alloc(1)])]) {
    assert.equal(decap(set, wrong, ct).status, LENGTH);
  }
  for (const wrong of [Buffer.alloc(0), ct.subarray(1), Buffer.concat([ct, Buffer.alloc(1)])]) {
    assert.equal(decap(set, dk, wrong).status, LENGTH);
  }
  // Each coefficient q, and q - 1.
  for (let i = 0; i < 256 * set.k; i++) {
    for (const [value, status] of [[3329, NOT_REDUCED], [3328, OK]]) {
      const key = Buffer.from(ek);
      const at = 3 * (i >> 1) + (i & 1);
      const bits = key.readUInt16LE(at);
      key.writeUInt16LE(i & 1 ? (bits & 15) | (value << 4) : (bits & 0xf000) | value, at);
      assert.equal(parse(set, key), status, `coefficient ${i} is ${value}`);
      if (status !== OK && i < 4) assert.equal(encap(set, key).status, status);
    }
  }
  for (let bit = 0; bit < 256; bit++) {
    const key = Buffer.from(dk);
    key[set.dk - 64 + (bit >> 3)] ^= 1 << (bit & 7);
    assert.equal(decap(set, key, ct).status, KEY_HASH, `bit ${bit} of the hash`);
  }
};

// A wrong ciphertext gives J(z, c): any one of its bits is enough.
const rejection = (set, { dk }, ct) => {
  const z = dk.subarray(set.dk - 32);
  for (let byte = 0; byte < set.ct; byte++) {
    const wrong = Buffer.from(ct);
    wrong[byte] ^= 1 << (byte & 7);
    const secret = shake('shake256', [z, wrong], 32);
    assert.deepEqual(decap(set, dk, wrong), { status: OK, secret }, `byte ${byte}`);
  }
};

for (const set of SETS) {
  accumulated(set);
  const seed = shake('shake256', [set.name], 64);
  const key = generate(set, seed);
  assert.ok(key.dk.includes(key.ek) && key.dk.subarray(-32).equals(seed.subarray(32)));
  const { ct } = encap(set, key.ek, seed.subarray(0, 32));
  errors(set, key, ct);
  rejection(set, key, ct);
}
for (const k of [0, 1, 5]) assert.equal(exports.parse(k, EK, 800), NO_SUCH_SET);
assert.equal(toDraw.length, 0);
console.log(`passed: ${TESTS} keys a set, errors, implicit rejection`);
