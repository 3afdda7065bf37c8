// {{name}}: a tool for Cofferdam. A failure is thrown as { code, message }.
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
    try {
      return JSON.stringify(greet(JSON.parse(args)));
    } catch (error) {
      // What a function of the contract throws has the failure in it.
      if (error.payload) throw error.payload;
      // A bug: printed here, or nobody would read what it was. The last line is told to the caller.
      if (error instanceof Error) console.error(`${error.stack}${error}`);
      throw error;
    }
  },
};

function greet({ name }) {
  if (name === "") throw { code: "invalid-arguments", message: "name is empty; give a name" };
  return { greeting: `Hello, ${name}!` };
}
