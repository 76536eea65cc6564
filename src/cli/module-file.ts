/** Whether a file beside a module may be part of what is served: a log that is written there, by this very process too, is not. */
export const isModuleFile = (file: string): boolean =>
  /\.([cm]?[jt]sx?|ya?ml)$/.test(file) && !/(^|[\\/])(node_modules|\.[^\\/]+)[\\/]/.test(file);

/** `shop=./shop.ts`; a path that has an equals sign needs a slash before it. */
export const splitPrefix = (module: string): { readonly prefix?: string; readonly path: string } => {
  const match = /^([A-Za-z][\w-]*)=(.+)$/.exec(module);
  return match?.[1] !== undefined && match[2] !== undefined ? { prefix: match[1], path: match[2] } : { path: module };
};

/** The module with another path and the same prefix. */
export const withPath = (module: string, change: (path: string) => string): string => {
  const { prefix, path } = splitPrefix(module);
  return prefix === undefined ? change(path) : `${prefix}=${change(path)}`;
};
