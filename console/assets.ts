/**
 * Styles, scripts and icons, addressed by content hash so that browsers may cache them forever. They are read once at
 * start: each feature's own, and those shared with the price page.
 */
import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { servedContent } from '#web/pricing/calculator-script.ts';

interface Asset {
  readonly contentType: string;
  readonly body: Buffer;
}

export interface Assets {
  /** The address of a file by its name. @throws Error where there is no such file. */
  readonly href: (file: string) => string;
  /** `exact` is false if the hash is another version's, as during a rollout. */
  readonly find: (path: string) => { readonly asset: Asset; readonly exact: boolean } | undefined;
}

export const ASSET_ROOT = '/assets/';

const FOLDERS = [
  'components/',
  'keys/',
  'wallet/',
  'usage/',
  'catalog/',
  'playground/',
  '../web/theme/',
  '../web/pricing/browser/',
].map((folder) => new URL(folder, import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
/** Modules of npm packages, which scripts import by the package's name. */
const LIBRARIES = ['idiomorph'];
const HASH_DIGITS = 12;
const FILE = /^([\w-]+)\.(css|js|svg)$/;
const HASHED = new RegExp(`^([\\w-]+)\\.([0-9a-f]{${HASH_DIGITS}})\\.(css|js|svg)$`);

/** Reads them all. @throws Error where two folders have a file of one name. */
export function loadAssets(folders: readonly URL[] = FOLDERS): Assets {
  const loaded = new Map<string, Asset & { readonly path: string }>();
  const add = (file: string, body: Buffer): void => {
    const [, name = '', extension = ''] = FILE.exec(file) ?? [];
    const contentType = TYPES[extension];
    if (contentType === undefined) return;
    if (loaded.has(file)) throw new Error(`two assets are called ${file}`);
    const digits = hash('sha256', body, 'hex').slice(0, HASH_DIGITS);
    loaded.set(file, { path: `${ASSET_ROOT}${name}.${digits}.${extension}`, contentType, body });
  };
  for (const name of LIBRARIES) add(`${name}.js`, readFileSync(new URL(import.meta.resolve(name))));
  const addressed = (script: string): string =>
    LIBRARIES.reduce(
      (text, name) =>
        text.replaceAll(`from '${name}'`, `from '${loaded.get(`${name}.js`)?.path.replace(ASSET_ROOT, './') ?? name}'`),
      script,
    );
  for (const folder of folders.filter((each) => existsSync(each))) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = entry.name;
      const body = servedContent(file, readFileSync(new URL(file, folder)));
      add(file, file.endsWith('.js') ? Buffer.from(addressed(body.toString())) : body);
    }
  }
  return {
    href(file) {
      const asset = loaded.get(file);
      if (!asset) throw new Error(`no asset is called ${file}`);
      return asset.path;
    },
    find(path) {
      const [, name = '', , extension = ''] = HASHED.exec(path.slice(ASSET_ROOT.length)) ?? [];
      const asset = loaded.get(`${name}.${extension}`);
      return asset && { asset, exact: asset.path === path };
    },
  };
}
