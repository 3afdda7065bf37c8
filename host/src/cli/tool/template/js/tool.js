// {{name}}: a tool for Cofferdam. A failure is thrown as { code, message }; catch everything else.
const argumentsSchema = {
  type: "object",
  additionalProperties: false,
  required: ["name"],
  properties: { name: { type: "string", description: "Who is greeted." } },
};
const resultSchema = { type: "object", required: ["greeting"], properties: { greeting: { type: "string" } } };

export const tool = {
  describe() {
    return {
      name: "{{name}}",
      summary: "Greets somebody by name.",
      argumentsSchema: JSON.stringify(argumentsSchema),
      resultSchema: JSON.stringify(resultSchema),
    };
  },
  call(args) {
    const { name } = JSON.parse(args);
    if (name === "") throw { code: "invalid-arguments", message: "name is empty; give a name" };
    return JSON.stringify({ greeting: `Hello, ${name}!` });
  },
};
