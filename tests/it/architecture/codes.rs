//! `docs/tools.md` against the core: each code of an error has a row in the table of codes.

use super::root;
use cofferdam_core::tool::ErrorCode;

#[test]
fn each_code_of_an_error_has_a_row_in_their_order() {
    let document = std::fs::read_to_string(root().join("docs/tools.md")).expect("there");
    let table = document.split("| Code | Means |").nth(1).expect("a table of codes");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let told: Vec<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let all: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(told, all);
}
