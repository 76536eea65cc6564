import { isList } from "./json.ts";

export const isTexts = (value: unknown): value is readonly string[] => isList(value) && value.every((one) => typeof one === "string");
