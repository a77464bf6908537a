/**
 * Finds the gateway's own modules without asking Node where they are: it looks for each of five hundred files, for links in its path
 * and for the package.json that says what kind of module it is, which is a tenth of a start. What is imported by a path or by one of
 * package.json's own names (#crds/…) and ends with .ts is where it says.
 */
import { createRequire, registerHooks } from 'node:module';

const ROOT = new URL('..', import.meta.url).href;
const { imports } = createRequire(import.meta.url)('../package.json');
/** By what names begin with: where what they name is. Each ends with a star. */
const FOLDERS = new Map(Object.entries(imports).map(([name, target]) => [name.slice(0, name.indexOf('/') + 1), new URL(target.slice(0, -1), ROOT).href]));

/** Concerns modules that are imported from now on, in this thread. */
export function resolveSourcesFast() {
  registerHooks({
    resolve(specifier, context, next) {
      const url = sourceUrl(specifier, context.parentURL);
      return url === undefined ? next(specifier, context) : { url, format: 'module-typescript', shortCircuit: true };
    },
  });
}

/** Where a module of the gateway's own is that another one of them imports; undefined: it is for Node to say. */
export function sourceUrl(specifier, parentUrl) {
  if (!specifier.endsWith('.ts') || !parentUrl?.startsWith(ROOT) || parentUrl.startsWith('node_modules/', ROOT.length)) return undefined;
  if (specifier.startsWith('./') || specifier.startsWith('../')) return new URL(specifier, parentUrl).href;
  const slash = specifier.indexOf('/') + 1;
  const folder = FOLDERS.get(specifier.slice(0, slash));
  return folder && folder + specifier.slice(slash);
}
