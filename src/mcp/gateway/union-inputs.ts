import { isBag, type Log } from "../../core/contract/index.ts";
import type { Entry, Lists } from "../source/index.ts";

const UNIONS = ["oneOf", "anyOf", "allOf"];
const MOST_KNOWN = 1_000;

const isUnion = ({ inputSchema }: Entry): boolean => isBag(inputSchema) && UNIONS.some((keyword) => keyword in inputSchema);

/** Says in the log, once for each tool, that a model may never see it. MCP allows such a schema: nobody else would tell its author. */
export function tellUnionInputs(log: Log): (list: keyof Lists, entries: readonly Entry[]) => void {
  const known = new Set<string>();
  return (list, entries) => {
    if (list !== "tools" || known.size > MOST_KNOWN) return;
    const tools = entries.filter((entry) => !known.has(entry.name) && isUnion(entry)).map(({ name }) => name);
    if (tools.length === 0) return;
    for (const name of tools) known.add(name);
    log("warning", {
      event: "union-inputs",
      tools,
      text: "At its root the input of these is a union. OpenAI and Anthropic refuse a request with such a tool, and some clients leave it out: put the union into a property.",
    });
  };
}
