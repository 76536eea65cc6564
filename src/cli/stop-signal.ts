/** Settles on the first SIGTERM, SIGINT or SIGHUP; a second one ends the process at once. */
export const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    let seen = false;
    const stop = (signal: string): void => {
      if (seen) process.exit(130);
      seen = true;
      resolve(signal);
    };
    process.on("SIGTERM", stop);
    process.on("SIGINT", stop);
    process.on("SIGHUP", stop);
  });
