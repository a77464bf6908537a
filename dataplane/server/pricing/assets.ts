/**
 * The page's style, script and icon. Each path contains the hash of the content, so that browsers cache it for ever.
 * The files are read once, when the process starts.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { servedContent } from '#web/pricing/calculator-script.ts';

export interface PricingAsset {
  readonly contentType: string;
  readonly body: Buffer;
}

/** Pages link to it relatively, so that the gateway may be below any path. */
export const ASSET_ROOT = '/pricing/assets/';

const HASH_DIGITS = 12;
const HASHED_NAME = new RegExp(`^(.+)-[0-9a-f]{${HASH_DIGITS}}(\\.[a-z]+)$`);

/** Style and script consist of several files, which are served as one each. */
const FILES = [
  {
    file: 'pricing.css',
    contentType: 'text/css; charset=utf-8',
    parts: ['theme/theme.css', 'pricing/browser/pricing.css'],
  },
  {
    file: 'pricing.js',
    contentType: 'text/javascript; charset=utf-8',
    parts: ['theme/copy.js', 'pricing/browser/pricing.js', 'pricing/browser/calculator.js'],
  },
  { file: 'icon.svg', contentType: 'image/svg+xml', parts: ['pricing/browser/icon.svg'] },
] as const;

type AssetFile = (typeof FILES)[number]['file'];

function readPart(part: string): Buffer {
  return servedContent(part, readFileSync(new URL(`../../../web/${part}`, import.meta.url)));
}

const loaded = new Map<string, PricingAsset & { readonly path: string }>(
  FILES.map(({ file, contentType, parts }) => {
    const body = Buffer.concat(parts.map(readPart));
    const path = ASSET_ROOT + file.replace('.', `-${hash('sha256', body, 'hex').slice(0, HASH_DIGITS)}.`);
    return [file, { path, contentType, body }];
  }),
);

/** By path, including the hash. */
export const pricingAssets: ReadonlyMap<string, PricingAsset> = new Map(
  loaded.values().map((asset) => [asset.path, asset]),
);

/**
 * The asset at a path. During a rollout, a page of one process may request its assets from another process, which
 * responds with its own version; `exact` is then false, and browsers must not cache it.
 */
export function findAsset(path: string): { readonly asset: PricingAsset; readonly exact: boolean } | undefined {
  const exact = pricingAssets.get(path);
  if (exact) return { asset: exact, exact: true };
  if (!path.startsWith(ASSET_ROOT)) return undefined;
  const [, name = '', extension = ''] = HASHED_NAME.exec(path.slice(ASSET_ROOT.length)) ?? [];
  const asset = loaded.get(name + extension);
  return asset && { asset, exact: false };
}

/** An asset's path, relative to the page at /pricing. */
export function assetHref(file: AssetFile): string {
  return loaded.get(file)?.path.slice(1) ?? '';
}
