import { Withdrawn } from "./durable-context.ts";

/** For what must be done whoever cancels it: `step` is begun again. Its commands are journalled with those before, so every attempt does the same. */
export async function insist<T>(step: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof Withdrawn)) throw error;
    }
  }
}
