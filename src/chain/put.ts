/** Sets an own property whatever its name: a plain assignment to `__proto__` would change the prototype instead. */
export function put<T>(target: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}
