import { faults } from "../chain/internal.ts";

/** What a store answers. Throws `EngineError` only. */
export async function asked<T>(answer: Promise<T>): Promise<T>;
export async function asked<T>(answer: Promise<T> | undefined): Promise<T | undefined>;
export async function asked<T>(answer: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    throw faults.fromStore(error);
  }
}
