/** The same function of an object, which keeps what it made for as long as that object is held. It never makes undefined. */
export function memoize<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const made = new WeakMap<K, V>();
  return (of) => {
    let known = made.get(of);
    if (known === undefined) made.set(of, (known = make(of)));
    return known;
  };
}
