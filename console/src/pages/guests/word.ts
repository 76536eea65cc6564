// Owns: the word for a guest's status, the same as for other actors.
import type { GuestRow } from "../../../../src/bridges/console/shapes.ts";

export const wordOf = ({ status }: Pick<GuestRow, "status">): string => (status === "running" ? "live" : status);
