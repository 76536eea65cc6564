interface Description {
  readonly title?: string;
  readonly description?: string;
  /** What its text or bytes are. */
  readonly mediaType?: string;
}

/** Read anew each time, since a schema may be another and still be the same object; so only what is shown of it is read. */
export function describeState(schema: unknown): Description {
  if (typeof schema !== "object" || schema === null) return {};
  const title = textIn(schema, "title");
  const description = textIn(schema, "description");
  const mediaType = textIn(schema, "contentMediaType") ?? textIn(schema, "mediaType");
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(mediaType === undefined ? {} : { mediaType }),
  };
}

function textIn(schema: object, keyword: string): string | undefined {
  const value: unknown = Reflect.get(schema, keyword);
  return typeof value === "string" ? value.toWellFormed() : undefined;
}
