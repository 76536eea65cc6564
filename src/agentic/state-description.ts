import { toJSONSchema } from "./to-json-schema.ts";

interface Description {
  readonly title?: string;
  readonly description?: string;
  /** What its text or bytes are. */
  readonly mediaType?: string;
}

const described = new WeakMap<object, Description>();

/** A schema is read once: states may be emitted many times a second. */
export function describeState(schema: unknown): Description {
  if (typeof schema !== "object" || schema === null) return {};
  let description = described.get(schema);
  if (description === undefined) {
    const { title, description: told, contentMediaType: mediaType } = toJSONSchema(schema);
    description = {
      ...(typeof title === "string" ? { title } : {}),
      ...(typeof told === "string" ? { description: told } : {}),
      ...(typeof mediaType === "string" ? { mediaType } : {}),
    };
    described.set(schema, description);
  }
  return description;
}
