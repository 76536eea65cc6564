import { type ListName, TroupeError } from "../../core/contract/index.ts";

const ITEM = ["name", "title", "description", "icons", "meta", "scopes", "enabled"];

const KNOWN: Readonly<Record<ListName, ReadonlySet<string>>> = {
  tools: new Set([...ITEM, "input", "output", "annotations", "task"]),
  resources: new Set([...ITEM, "uri", "mimeType", "annotations", "size", "list", "complete"]),
  prompts: new Set([...ITEM, "arguments", "complete"]),
};

/** What other libraries call it. */
const HERE: Readonly<Record<string, string>> = {
  inputSchema: "input",
  parameters: "input",
  outputSchema: "output",
  _meta: "meta",
  uriTemplate: "uri",
  describe: "description",
  when: "enabled",
  argsSchema: "arguments",
  handler: "the handler as the second argument",
  run: "the handler as the second argument",
};

const bad = (why: string): TroupeError => new TroupeError("BAD_DEFINITION", why);

/** What a compiler says at once, for plain JavaScript. Throws `BAD_NAME`, `BAD_DEFINITION`. */
export function checkDefinition(list: ListName, definition: unknown, handler: unknown): void {
  if (typeof definition !== "object" || definition === null) throw bad(`A definition in ${list} is an object: { name, … }.`);
  const name: unknown = Reflect.get(definition, "name");
  if (typeof name !== "string") throw new TroupeError("BAD_NAME", `A definition in ${list} has no name: give name as text.`);
  const where = `${list}/${JSON.stringify(name.slice(0, 128))}`;
  const unknown = Object.keys(definition).find((key) => !KNOWN[list].has(key));
  if (unknown !== undefined) {
    const here = Object.hasOwn(HERE, unknown) ? HERE[unknown] : undefined;
    const instead = here === undefined ? `it knows ${[...KNOWN[list]].join(", ")}` : `here it is ${here}`;
    throw bad(`${where}: nobody reads ${JSON.stringify(unknown.slice(0, 60))}; ${instead}.`);
  }
  if (typeof handler !== "function") throw bad(`${where} has no handler: give a function as the second argument.`);
  const enabled: unknown = Reflect.get(definition, "enabled");
  if (enabled !== undefined && typeof enabled !== "function") throw bad(`${where}: enabled is a function of the viewer.`);
}
