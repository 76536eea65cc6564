/** How a call ends that computed for longer than it may. */
export function tooLong(callMs: number): { readonly end: "killed"; readonly why: "time"; readonly message: string } {
  return { end: "killed", why: "time", message: `The guest computed for more than ${callMs} ms in one call: let it do less in each.` };
}
