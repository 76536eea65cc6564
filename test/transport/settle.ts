/** Waits, one event-loop iteration at a time, until the condition holds. */
export async function eventually(holds: () => boolean, what = "the condition"): Promise<void> {
  for (let turn = 0; turn < 20_000; turn += 1) {
    if (holds()) return;
    await new Promise<void>((done) => {
      setTimeout(done, turn < 100 ? 0 : 2);
    });
  }
  throw new Error(`${what} never came to hold`);
}
