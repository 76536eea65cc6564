// The bare echo: reads a JSON-RPC request and answers with a constant result, which may be an argument. Checks nothing else.
import { answer, idIn, ONE } from "./echo-answer.ts";
import { readyWith } from "./ready.ts";

const [, , given] = process.argv;
const result: object = given === undefined ? ONE : JSON.parse(given);
readyWith((text, response) => answer(response, idIn(text), result));
