//! Writes `data/*.json` anew from the slow reference.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    for (name, content) in test_vectors::known::files() {
        std::fs::write(folder.join(name), content)?;
        println!("wrote data/{name}");
    }
    Ok(())
}
