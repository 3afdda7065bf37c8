//! Workflow files from outside: what `workflow check` says of them, and what a run does.

mod check;
mod download;
mod examples;
mod limits;
mod people;
mod run;

use support::home::{Home, Ran};

/// A PNG of one pixel, as its bytes tell.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x56\xc7\x2f\x0d\x00\x00\x00\x00IEND\xaeB`\x82";
const PDF: &[u8] = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";

/// Puts a file beside the workflows of a home; its path.
fn put(home: &Home, path: &str, bytes: &[u8]) -> String {
    let file = home.dir().join("flows").join(path);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
    std::fs::write(&file, bytes).expect("writable");
    file.to_str().expect("UTF-8").to_owned()
}

/// Refused on paper: nothing on standard output, and the file is named.
fn refused_on_paper(ran: &Ran, said: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains(said), "{said:?} in {}", ran.stderr);
}
