const HERE = new URL(".", import.meta.url).href;

/** For whoever uses a draft of a turn that is over. Its frames begin where he does, as those of a revoked proxy would. */
export function revoked(): TypeError {
  const error = new TypeError(
    "This draft was revoked when its turn ended: read the value again, from the `ctx.state` of the turn that runs.",
  );
  const frames = (error.stack ?? "").split("\n").filter((line) => !line.includes(HERE));
  error.stack = frames.join("\n");
  return error;
}
