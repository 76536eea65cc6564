/** What came from elsewhere and has keys to look at. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;
