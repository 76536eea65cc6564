import { type Bag, BLOB, CONTENT, isBag, type Json, isList } from "../../core/contract/index.ts";
import { isBlob, isContent, wellFormed } from "../../core/contract/internal.ts";
import { has, type Revision } from "./revision.ts";

const TEXT_HEAD = '"content":[{"type":"text","text":';
const NULL = `${TEXT_HEAD}"null"}]`;
const DONE = `${TEXT_HEAD}"Done."}]`;
const NUMBER_HEAD = `${TEXT_HEAD}"`;

/** A value as text. Looked at here too: as text within a message its escapes are escaped, and no longer seen where that is written. */
const jsonText = (value: Json): string => wellFormed(JSON.stringify(value));

/** The members of a tool's result for a domain value; JSON text without the braces. */
export function toolMembers(value: Json, definition: Bag, revision: Revision): string {
  if (typeof value === "string") {
    const members = `${TEXT_HEAD}${JSON.stringify(value)}}]`;
    return definition["outputSchema"] !== undefined && has(revision, "anyStructured")
      ? `${members},"structuredContent":${JSON.stringify(value)}`
      : members;
  }
  if (value === null) return nothingMembers(definition, revision);
  if (isContent(value)) return contentMembers(value[CONTENT], value, revision);
  // A number as text needs no escapes, and is in JSON what it is here.
  if (typeof value === "number" && Number.isFinite(value)) {
    const members = `${NUMBER_HEAD}${value}"}]`;
    return mayStructure(value, revision) ? `${members},"structuredContent":${value}` : members;
  }
  const text = jsonText(value);
  const members = `${TEXT_HEAD}${JSON.stringify(text)}}]`;
  return mayStructure(value, revision) ? `${members},"structuredContent":${text}` : members;
}

// MCP allows no content at all, but agents and models' APIs do not: several end the whole conversation over it. Null answers who asked.
function nothingMembers({ outputSchema, annotations }: Bag, revision: Revision): string {
  if (outputSchema !== undefined) return has(revision, "anyStructured") ? `${NULL},"structuredContent":null` : NULL;
  return isBag(annotations) && annotations["readOnlyHint"] === true ? NULL : DONE;
}

function contentMembers(blocks: readonly Json[], { structured, isError }: Bag, revision: Revision): string {
  const said = typeof isError === "boolean" ? `,"isError":${isError}` : "";
  const members = `"content":${JSON.stringify(blocks.map((block) => shapeBlock(block, revision)))}${said}`;
  return structured === undefined || !mayStructure(structured, revision)
    ? members
    : `${members},"structuredContent":${JSON.stringify(structured)}`;
}

function mayStructure(value: Json, revision: Revision): boolean {
  return has(revision, isBag(value) ? "structuredContent" : "anyStructured");
}

/** A tool's failure, as its caller's model reads it. */
export function toolError(message: string): string {
  return `${TEXT_HEAD}${JSON.stringify(message)}}],"isError":true`;
}

/** A content block as that revision knows it; what it does not know becomes text. */
export function shapeBlock(block: Json, revision: Revision): Json {
  if (!isBag(block)) return { type: "text", text: typeof block === "string" ? block : jsonText(block) };
  if (block["type"] === "audio" && !has(revision, "audio"))
    return { type: "text", text: `[audio${typeof block["mimeType"] === "string" ? ` ${block["mimeType"]}` : ""}]` };
  if (block["type"] === "resource_link" && !has(revision, "resourceLinks"))
    return { type: "text", text: [block["title"] ?? block["name"], block["uri"]].filter((part) => typeof part === "string").join(": ") };
  if (has(revision, "definitionMeta") || !("_meta" in block)) return block;
  const { _meta, ...rest } = block;
  return rest;
}

/** The members of a resource's result for a domain value. */
export function resourceMembers(value: Json, uri: string, definition: Bag, revision: Revision): string {
  const { mimeType } = definition;
  const about = { uri, ...(typeof mimeType === "string" ? { mimeType } : undefined) };
  return `"contents":${JSON.stringify(contentsOf(value, about, revision))}`;
}

function contentsOf(value: Json, about: Bag, revision: Revision): readonly Json[] {
  if (typeof value === "string") return [{ ...about, text: value }];
  if (isBlob(value))
    return [{ ...about, ...(typeof value["mimeType"] === "string" ? { mimeType: value["mimeType"] } : undefined), blob: value[BLOB] }];
  if (isContent(value)) {
    return value[CONTENT].flatMap((block): readonly Json[] => {
      if (!isBag(block)) return [];
      if (block["type"] === "resource" && isBag(block["resource"])) return [block["resource"]];
      if (typeof block["data"] === "string")
        return [{ ...about, mimeType: block["mimeType"] ?? "application/octet-stream", blob: block["data"] }];
      const shaped = shapeBlock(block, revision);
      const said = typeof block["mimeType"] === "string" && block["type"] === "text" ? { mimeType: block["mimeType"] } : undefined;
      return [{ ...about, ...said, text: isBag(shaped) && typeof shaped["text"] === "string" ? shaped["text"] : jsonText(shaped) }];
    });
  }
  return [{ ...about, mimeType: about["mimeType"] ?? "application/json", text: jsonText(value) }];
}

/** The members of a prompt's result for a domain value. */
export function promptMembers(value: Json, definition: Bag, revision: Revision): string {
  const said = isBag(value) && typeof value["description"] === "string" ? value["description"] : definition["description"];
  const head = typeof said === "string" ? `"description":${JSON.stringify(said)},` : "";
  return `${head}"messages":${JSON.stringify(messagesOf(value, revision))}`;
}

function messagesOf(value: Json, revision: Revision): readonly Json[] {
  if (value === null) return [];
  if (isBag(value) && isList(value["messages"])) return value["messages"].map((message) => messageOf(message, revision));
  if (isContent(value)) return value[CONTENT].map((block) => ({ role: "user", content: shapeBlock(block, revision) }));
  return [{ role: "user", content: { type: "text", text: typeof value === "string" ? value : jsonText(value) } }];
}

function messageOf(message: Json, revision: Revision): Json {
  if (!isBag(message)) return { role: "user", content: shapeBlock(message, revision) };
  const { content } = message;
  return { role: message["role"] === "assistant" ? "assistant" : "user", content: shapeBlock(content ?? "", revision) };
}
