//! Files that people send.

/// A real JPEG (a small grey square) with `padding` bytes after its end, which viewers ignore.
pub fn jpeg(padding: usize) -> Vec<u8> {
    const GREY: &str = "ffd8ffe000104a46494600010100000100010000ffdb004300080606070605080707070909080a0c140d0c0b0b0c1912130f141d1a\
        1f1e1d1a1c1c20242e2720222c231c1c2837292c30313434341f27393d38323c2e333432ffc0000b080001000101011100ffc4001f0000\
        010501010101010100000000000000000102030405060708090a0bffc400b5100002010303020403050504040000017d01020300041105\
        122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a4344454647\
        48494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3\
        b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9faffda0008010100003f00\
        d2cf20ffd9";
    let mut bytes = hex::decode(GREY).expect("the sample is hex");
    let start = bytes.len();
    // Not zeroes: a lost or doubled piece must show in the hash.
    bytes.extend((0..padding).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8));
    debug_assert_eq!(bytes.len(), start + padding);
    bytes
}

/// A small PDF.
pub fn pdf() -> Vec<u8> {
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n".to_vec()
}
