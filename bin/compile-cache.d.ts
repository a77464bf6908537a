/** Keeps modules that are loaded from now on, and those of threads, compiled from one start to the next. */
export function cacheCompiledModules(): void;
