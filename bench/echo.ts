// The bare machine: read a JSON-RPC request, answer it with a constant result, which may be given. Nothing else is checked.
import { answer, idIn, ONE } from "./echo-answer.ts";
import { readyWith } from "./ready.ts";

const [, , given] = process.argv;
const result: object = given === undefined ? ONE : JSON.parse(given);
readyWith((text, response) => answer(response, idIn(text), result));
