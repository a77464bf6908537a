/** Concerns modules that are imported from now on, in this thread. */
export function resolveSourcesFast(): void;
/** Where a module of the gateway's own is that another one of them imports; undefined: it is for Node to say. */
export function sourceUrl(specifier: string, parentUrl: string | undefined): string | undefined;
