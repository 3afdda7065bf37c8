/* {{name}}: a tool for Cofferdam. What is returned is allocated, and freed by the bindings. */
#include "mine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void exports_cofferdam_tool_tool_describe(exports_cofferdam_tool_tool_description_t *ret) {
    mine_string_dup(&ret->name, "{{name}}");
    mine_string_dup(&ret->summary, "Greets somebody by name.");
    mine_string_dup(&ret->arguments_schema,
        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"name\"],"
        "\"properties\":{\"name\":{\"type\":\"string\"}}}");
    mine_string_dup(&ret->result_schema,
        "{\"type\":\"object\",\"required\":[\"greeting\"],\"properties\":{\"greeting\":{\"type\":\"string\"}}}");
}

/* true: ret holds the result; false: err says what failed. */
bool exports_cofferdam_tool_tool_call(exports_cofferdam_tool_tool_json_t *arguments,
                                      exports_cofferdam_tool_tool_json_t *ret,
                                      exports_cofferdam_tool_tool_tool_error_t *err) {
    /* Enough for one plain name; a JSON library for anything else. */
    char name[128] = "", answer[256];
    char *text = strndup((const char *) arguments->ptr, arguments->len);
    int end = 0;
    sscanf(text, " { \"name\" : \"%127[^\"\\]\"%n", name, &end);
    free(text);
    exports_cofferdam_tool_tool_json_free(arguments);
    if (end == 0) {
        err->code = COFFERDAM_TOOL_TYPES_ERROR_CODE_INVALID_ARGUMENTS;
        mine_string_dup(&err->message, "name is empty or not plain; give a name without quotes");
        return false;
    }
    snprintf(answer, sizeof answer, "{\"greeting\":\"Hello, %s!\"}", name);
    mine_string_dup(ret, answer);
    return true;
}
