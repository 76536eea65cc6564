// Owns: a guest's status in the words that other actors' have.
import type { GuestRow } from "../../../../src/bridges/console/shapes.ts";

export const guestStatus = ({ status }: Pick<GuestRow, "status">): string => (status === "running" ? "live" : status);
