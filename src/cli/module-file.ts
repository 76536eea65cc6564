/** Whether a file beside a module may be part of what is served: a log that is written there, by this very process too, is not. */
export const isModuleFile = (file: string): boolean =>
  /\.([cm]?[jt]sx?|ya?ml)$/.test(file) && !/(^|[\\/])(node_modules|\.[^\\/]+)[\\/]/.test(file);
