//! Tiny samples made by hand, each the least that real software of its kind begins with.

use super::*;
use std::io::Cursor;

fn check(sample: &[u8], expected: &str) {
    let mut reader = Cursor::new(sample);
    let shown = String::from_utf8_lossy(&sample[..sample.len().min(40)]).into_owned();
    assert_eq!(sniff(&mut reader), expected, "{shown:?}");
}

/// A ZIP archive of empty, stored files with these names.
fn zip(names: &[&str]) -> Vec<u8> {
    let (mut local, mut central) = (Vec::new(), Vec::new());
    for name in names {
        let offset = u32::try_from(local.len()).unwrap().to_le_bytes();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        // Version, flags, method, time, date, CRC-32 and both sizes, then the lengths of the names.
        let common = [&[20, 0][..], &[0; 8], &[0; 12], &length, &[0; 2]].concat();
        local.extend([b"PK\x03\x04", &common[..], name.as_bytes()].concat());
        central.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &offset, name.as_bytes()].concat());
    }
    let count = u16::try_from(names.len()).unwrap().to_le_bytes();
    let (size, start) = (central.len() as u32, local.len() as u32);
    let end = [b"PK\x05\x06\0\0\0\0", &count[..], &count, &size.to_le_bytes(), &start.to_le_bytes(), &[0; 2]];
    [local, central, end.concat()].concat()
}

fn ogg(first_packet: &[u8]) -> Vec<u8> {
    [b"OggS\0\x02", &[0; 20][..], &[1, first_packet.len() as u8], first_packet].concat()
}

fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect()
}

#[test]
fn pictures_sound_and_film() {
    check(b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0", "image/jpeg");
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0", "image/png");
    check(b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0", "image/gif");
    check(b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0", "image/webp");
    check(b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0", "image/bmp");
    check(b"\0\0\0\x18ftypheic\0\0\0\0heicmif1", "image/heic");
    check(b"\0\0\0\x18ftypavif\0\0\0\0avifmif1", "image/avif");
    check(b"\0\0\0\x18ftypisom\0\0\x02\0isomiso2\0\0\0\x08free", "video/mp4");
    check(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom", "video/mp4");
    check(b"\0\0\0\x18ftypM4A \0\0\x02\0M4A isom", "audio/mp4");
    check(b"\0\0\0\x14ftypqt  \0\0\x02\0qt  ", "video/quicktime");
    check(
        b"\x1a\x45\xdf\xa3\x9fB\x86\x81\x01B\xf7\x81\x01B\xf2\x81\x04B\xf3\x81\x08B\x82\x84webm",
        "video/webm",
    );
    check(&ogg(b"OpusHead\x01\x01\x38\x01\x80\xbb\0\0\0\0\0"), "audio/ogg");
    check(&ogg(b"\x01vorbis\0\0\0\0\x02"), "audio/ogg");
    check(b"\xff\xfb\x90\x64\0\x0f\xf0\0\0\x69\0\0", "audio/mpeg");
    check(b"ID3\x04\0\0\0\0\0\x0aTIT2\0\0\0\0\0\0\xff\xfb\x90\x64", "audio/mpeg");
    check(b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", "audio/wav");
    check(b"fLaC\0\0\0\x22\x10\0\x10\0", "audio/flac");
}

#[test]
fn documents_and_archives() {
    check(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n", "application/pdf");
    check(&zip(&["notes.txt"]), "application/zip");
    check(
        &zip(&["[Content_Types].xml", "_rels/.rels", "word/document.xml"]),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    );
    check(
        &zip(&["[Content_Types].xml", "xl/workbook.xml"]),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    );
    check(b"PK\x03\x04\x14\0\0\0\x08\0 cut off here", "application/zip");
    check(b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "application/gzip");
    check(b"7z\xbc\xaf\x27\x1c\0\x04", "application/x-7z-compressed");
}

#[test]
fn text_in_its_encodings() {
    let plain = "text/plain";
    check("Grüße, 世界\n".as_bytes(), plain);
    check("\u{FEFF}with a mark\r\n".as_bytes(), plain);
    check(&utf16("Grüße, 世界 😀\r\n", u16::to_le_bytes), plain);
    check(&utf16("Grüße, 世界 😀\r\n", u16::to_be_bytes), plain);
    check(b"\x1b[31mred\x1b[0m log\n", plain);
    check(b"{\"json\": true}", plain);
    // A character cut where the head ends, in a single line.
    check(format!("a{}", "ä".repeat(40_000)).as_bytes(), plain);
    check(&utf16(&format!("a{}", "😀".repeat(20_000)), u16::to_le_bytes), plain);
    for beginning in
        ["BM", "MZ", "BZh", "MAC", "DDS", "ZOO", "CWS", "PF", "P1", "P6 ", "VOX", "AMV", "MP+", "ID3 "]
    {
        check(
            format!("{beginning} is how this note begins, and it goes on for a while.\n").as_bytes(),
            plain,
        );
    }
    check(b"#!/bin/sh\necho hello\n", "text/x-shellscript");
    check(b"<?xml version=\"1.0\"?><a/>", "text/xml");
    check(b"BEGIN:VCARD\nVERSION:3.0\n", "text/vcard");
}

#[test]
fn what_is_no_text_and_nothing_known() {
    check(b"", UNKNOWN_TYPE);
    check(&[0; 64], UNKNOWN_TYPE);
    check(&pattern(3000), UNKNOWN_TYPE);
    check(b"text with a \0 in it", UNKNOWN_TYPE);
    check(b"caf\xe9 in Latin-1", UNKNOWN_TYPE);
    check(b"\xff\xfe\0\xd8a\0", UNKNOWN_TYPE);
    // Sixteen fine lines do not make the seventeenth text.
    check(format!("{}\u{1}\u{2}", "line\n".repeat(16)).as_bytes(), UNKNOWN_TYPE);
}

#[test]
fn active_text_is_never_a_picture() {
    let html = "text/html";
    check(b"<!DOCTYPE html><html><body>hi</body></html>", html);
    check(b"\n\n  <HTML><body>hi", html);
    check(b"<script>alert(1)</script>", html);
    check(&utf16("<script>alert(1)</script>", u16::to_le_bytes), html);
    check(&utf16("<html>", u16::to_be_bytes), html);
    check(b"GIF89a/*<script>alert(1)</script>*/", html);
    check(b"GIF89a\x01\0\x01\0\x80\0\0<script>alert(1)</script>", html);
    check(b"\xff\xd8\xff\xe0\0\x10JFIF\0\xff\xfe\0\x20<html><script>x</script>", html);
    check(b"MZ<script>x</script>", html);
    check(b"<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><svg/></html>", html);
    let svg = "image/svg+xml";
    check(b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>x</script></svg>", svg);
    check(
        b"<?xml version=\"1.0\"?>\n<!-- made by hand -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
        svg,
    );
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<svg onload=x>", svg);
    // What is shown by nobody inline keeps its type.
    check(b"#!/bin/sh\necho '<html>'\n", "text/x-shellscript");
    check(b"%PDF-1.7\n% <script>\n", "application/pdf");
}

#[test]
fn hostile_numbers_neither_panic_nor_hang() {
    let beginnings: [&[u8]; 7] = [
        b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"PK\x03\x04",
        b"\0\0\0\x18ftypisom",
        b"\x1a\x45\xdf\xa3",
        b"ID3\x04\0\x80",
        b".RMF\0\0\0\x12",
    ];
    for beginning in beginnings {
        for fill in [0xFF, 0x7F, 0x80] {
            let sample = [beginning, &[fill; 300]].concat();
            sniff(&mut Cursor::new(
                [&sample[..], b"PK\x06\x07", &[fill; 16], b"PK\x05\x06", &[fill; 18]].concat(),
            ));
        }
    }
}
