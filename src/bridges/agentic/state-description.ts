import { omitUndefined } from "../../core/contract/internal.ts";
interface Description {
  readonly title?: string;
  readonly description?: string;
  /** What its text or bytes are. */
  readonly mediaType?: string;
  /** What it is listed as. */
  readonly mimeType: string;
}

const JSON_TYPE = "application/json";

/** Read anew each time, since a schema may be another and still be the same object; so only what is shown of it is read. */
export function describeState(schema: unknown): Description {
  if (typeof schema !== "object" || schema === null) return { mimeType: JSON_TYPE };
  const title = textIn(schema, "title");
  const description = textIn(schema, "description");
  const mediaType = textIn(schema, "contentMediaType") ?? textIn(schema, "mediaType");
  return {
    ...omitUndefined({ title, description, mediaType }),
    mimeType: mediaType ?? (textIn(schema, "type") === "blob" ? "application/octet-stream" : JSON_TYPE),
  };
}

function textIn(schema: object, keyword: string): string | undefined {
  const value: unknown = Reflect.get(schema, keyword);
  return typeof value === "string" ? value.toWellFormed() : undefined;
}
