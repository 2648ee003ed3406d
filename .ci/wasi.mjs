// Runs a WASI program under Node: node --no-warnings wasi.mjs PROGRAM ARGUMENT...
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [program] = process.argv.slice(2);
const wasi = new WASI({
  version: 'preview1',
  args: process.argv.slice(2),
  env: process.env,
  preopens: { '/': '/' },
  returnOnExit: true,
});
const module = await WebAssembly.compile(readFileSync(program));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
