import { type Bag, isBag, type Json, isList } from "../../core/contract/index.ts";
import type { Lists } from "../source/index.ts";
import { has, type Feature, type Revision } from "./revision.ts";

// Member → the feature that brought it; null: every revision has it. What is not here is not MCP's and stays inside.
const MEMBERS: Readonly<Record<keyof Lists, Readonly<Record<string, Feature | null>>>> = {
  tools: {
    name: null,
    title: "titles",
    description: null,
    inputSchema: null,
    outputSchema: "outputSchema",
    annotations: "toolAnnotations",
    icons: "icons",
    execution: "tasks",
    _meta: "definitionMeta",
  },
  resources: {
    name: null,
    title: "titles",
    uri: null,
    description: null,
    mimeType: null,
    annotations: null,
    size: null,
    icons: "icons",
    _meta: "definitionMeta",
  },
  resourceTemplates: {
    name: null,
    title: "titles",
    uriTemplate: null,
    description: null,
    mimeType: null,
    annotations: null,
    icons: "icons",
    _meta: "definitionMeta",
  },
  prompts: { name: null, title: "titles", description: null, arguments: null, icons: "icons", _meta: "definitionMeta" },
};

/** A list's entry, given in its newest shape, as that revision knows it. */
export function shapeEntry(list: keyof Lists, entry: Bag, revision: Revision): Bag {
  const shaped: Record<string, Json> = {};
  for (const [member, feature] of Object.entries(MEMBERS[list])) {
    const value = entry[member];
    if (value !== undefined && (feature === null || has(revision, feature))) shaped[member] = value;
  }
  if (list === "tools") shapeTool(shaped, entry, revision);
  if (list === "prompts" && isList(shaped["arguments"]) && !has(revision, "titles"))
    shaped["arguments"] = shaped["arguments"].map((argument) => without(argument, "title"));
  if (isBag(shaped["annotations"]) && list !== "tools" && !has(revision, "titles"))
    shaped["annotations"] = without(shaped["annotations"], "lastModified");
  return shaped;
}

function shapeTool(shaped: Record<string, Json>, entry: Bag, revision: Revision): void {
  const { inputSchema, outputSchema } = shaped;
  if (!isBag(inputSchema)) shaped["inputSchema"] = { type: "object" };
  else if (inputSchema["type"] !== "object") shaped["inputSchema"] = { ...objectsIn(inputSchema), type: "object" };
  else shaped["inputSchema"] = objectsIn(inputSchema);
  if (isBag(outputSchema)) shaped["outputSchema"] = objectsIn(outputSchema);
  // Before 2026-07-28 a result's structure is an object, and so is what describes it.
  if (isBag(outputSchema) && outputSchema["type"] !== "object" && !has(revision, "anyStructured")) delete shaped["outputSchema"];
  // 2025-03-26 has a title for people, but among the annotations.
  if (entry["title"] !== undefined && !has(revision, "titles") && has(revision, "toolAnnotations"))
    shaped["annotations"] = { title: entry["title"], ...(isBag(shaped["annotations"]) ? shaped["annotations"] : undefined) };
}

// `true` and `false` are schemas too, but a client of the revisions up to 2025-11-25 refuses the whole list over one.
function objectsIn(schema: Bag): Bag {
  const { properties } = schema;
  if (!isBag(properties) || !Object.values(properties).some((one) => typeof one === "boolean")) return schema;
  const objects = Object.entries(properties).map(([name, one]) => [name, one === true ? {} : one === false ? { not: {} } : one]);
  return { ...schema, properties: Object.fromEntries(objects) };
}

function without(value: Json, member: string): Json {
  if (!isBag(value) || !(member in value)) return value;
  const { [member]: _, ...rest } = value;
  return rest;
}
