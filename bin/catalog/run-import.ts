/** Implements `mgw catalog import`. */
import { existsSync } from 'node:fs';
import { CommandFailed, EXIT } from '../exit-codes.ts';
import { figuresOfCatalog } from './catalog-figures.ts';
import { differenceTable, figuresOfList, importCatalog } from './import.ts';
import type { SecondList, WantedModel } from './import.ts';
import { openList } from './lists/open-list.ts';
import type { OpenedList } from './lists/open-list.ts';
import { findCatalog, loadManifests } from './load-catalogs.ts';
import { readPlace } from './read-place.ts';

interface ImportRun {
  readonly from: string;
  readonly url?: string;
  readonly models?: readonly string[];
  readonly config?: string;
  readonly name: string;
  readonly compare?: string;
  readonly revision?: string;
  readonly allowFree?: boolean;
}

const FETCH_TIMEOUT_MS = 60_000;

/** Resolves with the exit code. */
export async function runImport(file: string | undefined, flags: ImportRun): Promise<number> {
  const text = await readList(file, flags.url);
  const source = open(text, { place: flags.url ?? file ?? '-', kind: flags.from === 'auto' ? undefined : flags.from });
  const other = await openSecond(flags);
  const { manifest, remarks, missing, differences } = importCatalog({
    name: flags.name,
    source,
    text,
    wanted: await wantedModels(flags),
    allowFree: flags.allowFree === true,
    revision: flags.revision,
    date: new Date().toISOString().slice(0, 10),
    other,
  });
  const table = differenceTable(differences, source.kind, other?.kind ?? '');
  for (const line of [...remarks, ...table]) process.stderr.write(`${line}\n`);
  if (manifest !== undefined) process.stdout.write(manifest);
  return missing.length === 0 && manifest !== undefined ? EXIT.ok : EXIT.failed;
}

/** A list's file, or a PriceCatalog of the manifests by its name. */
async function openSecond({ compare: place, config, allowFree = false }: ImportRun): Promise<SecondList | undefined> {
  if (place === undefined) return undefined;
  const catalog = config === undefined ? undefined : await findCatalog(config, place);
  if (catalog) return figuresOfCatalog(catalog);
  if (place !== '-' && !existsSync(place)) {
    const where = config === undefined ? '(catalogs are looked for in --config)' : `in ${config}`;
    throw new CommandFailed(`--compare ${place}: no such file, and no PriceCatalog with this name ${where}`);
  }
  return figuresOfList(open(await readPlace(place), { place, kind: undefined }), allowFree);
}

function open(
  text: string,
  { place, kind }: { readonly place: string; readonly kind: string | undefined },
): OpenedList {
  try {
    return openList(text, kind);
  } catch (error) {
    throw new CommandFailed(`${place}: ${error instanceof Error ? error.message : String(error)}`, undefined, error);
  }
}

async function readList(file: string | undefined, url: string | undefined): Promise<string> {
  if (url === undefined) return readPlace(file ?? '-');
  if (file !== undefined) throw new CommandFailed('Pass one price list: a file or --url.', EXIT.usage);
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    if (answer.ok) return await answer.text();
    throw new Error(`the response has status ${answer.status}`);
  } catch (error) {
    throw new CommandFailed(`${url} cannot be fetched: ${describeError(error)}`, undefined, error);
  }
}

/** fetch says why it failed in the cause of its error. */
function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** The models that --models names, or those of the routes with the providers' names for them. */
async function wantedModels({ models, config }: ImportRun): Promise<WantedModel[]> {
  if (models) {
    return models.map((text) => {
      const at = text.indexOf('=');
      const [name, key] = at < 0 ? [text, text] : [text.slice(0, at), text.slice(at + 1)];
      return { name, keys: [key] };
    });
  }
  if (config === undefined) throw new CommandFailed('No models: pass --models NAMES or --config DIR.', EXIT.usage);
  const {
    snapshot: { routes },
  } = await loadManifests(config, Date.now());
  const wanted = new Map<string, Set<string>>();
  for (const route of routes) {
    for (const { name } of route.models) {
      const renames = route.channels.flatMap(({ models: own }) => own.filter((each) => each.name === name));
      const keys = [name, ...renames.map(({ upstreamName }) => upstreamName)];
      wanted.set(name, new Set([...(wanted.get(name) ?? []), ...keys]));
    }
  }
  return [...wanted].map(([name, keys]) => ({ name, keys: [...keys] }));
}
