import type { GuestState } from "../guest-state.ts";

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Of what a store or a chain has for a guest's actor. */
export const isGuestState = (value: unknown): value is GuestState =>
  isObject(value) &&
  typeof value["id"] === "string" &&
  typeof value["manifest"] === "string" &&
  typeof value["component"] === "string" &&
  (value["state"] === null || typeof value["state"] === "string") &&
  isObject(value["children"]) &&
  isObject(value["channels"]) &&
  Array.isArray(value["outstanding"]);
