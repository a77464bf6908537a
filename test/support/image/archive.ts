/**
 * A folder as an image of one layer, in an archive that containerd imports (OCI image layout). Archives are kept in the
 * cache by a key of what they hold, so that an image is made once for each change of it.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, link, mkdir, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { cacheFolder } from '../kube/go-build.ts';
import type { ImageConfig } from './dockerfile.ts';

const run = promisify(execFile);
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** The number of kept archives of earlier states: another checkout may use one. */
const KEPT = 2;

export interface Image {
  /** The name with the tag, as in a pod's spec. */
  readonly name: string;
  readonly archive: string;
}

interface ImageRecipe {
  readonly name: string;
  readonly config: ImageConfig;
  /** A key that changes with the contents of the file system. */
  readonly key: string;
  /** Creates the file system in an empty folder, with owners and modes. */
  readonly fill: (root: string) => Promise<void>;
}

/** Returns the image, which is built only if the cache has none with this key. */
export async function makeImage({ name, config, key, fill }: ImageRecipe): Promise<Image> {
  const folder = cacheFolder(process.env, 'images');
  const stem = name.replace(/[^\w.-]/g, '_');
  const digest = createHash('sha256')
    .update(JSON.stringify([name, config, key]))
    .digest('hex')
    .slice(0, 16);
  const archive = join(folder, `${stem}-${digest}.tar`);
  const known = await access(archive).then(
    () => true,
    () => false,
  );
  if (known) await utimes(archive, new Date(), new Date());
  else await build(folder, archive, { name, config, fill });
  await forget(folder, stem);
  return { name, archive };
}

async function build(folder: string, archive: string, { name, config, fill }: Omit<ImageRecipe, 'key'>): Promise<void> {
  await mkdir(folder, { recursive: true });
  const aside = await mkdtemp(join(folder, 'new-'));
  try {
    const root = join(aside, 'root');
    await mkdir(root);
    await fill(root);
    const layer = join(aside, 'layer');
    await tar(layer, root);
    await writeLayout(join(aside, 'layout'), layer, { name, config });
    await tar(join(aside, 'archive'), join(aside, 'layout'));
    await rename(join(aside, 'archive'), archive);
  } finally {
    await rm(aside, { recursive: true, force: true });
  }
}

async function tar(file: string, folder: string): Promise<void> {
  await run('tar', [
    '--create',
    '--file',
    file,
    '--directory',
    folder,
    '--sort=name',
    '--mtime=@0',
    '--numeric-owner',
    '--format=posix',
    '--pax-option=delete=atime,delete=ctime',
    '.',
  ]);
}

async function writeLayout(
  folder: string,
  layer: string,
  { name, config }: Pick<ImageRecipe, 'name' | 'config'>,
): Promise<void> {
  const blobs = join(folder, 'blobs/sha256');
  await mkdir(blobs, { recursive: true });
  const layerDigest = await digestOf(layer);
  await link(layer, join(blobs, layerDigest));
  const blob = async (kind: string, value: object): Promise<object> => {
    const text = JSON.stringify(value);
    const digest = createHash('sha256').update(text).digest('hex');
    await writeFile(join(blobs, digest), text);
    return {
      mediaType: `application/vnd.oci.image.${kind}.v1+json`,
      digest: `sha256:${digest}`,
      size: Buffer.byteLength(text),
    };
  };
  const configuration = await blob('config', {
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: [`sha256:${layerDigest}`] },
  });
  const manifest = await blob('manifest', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: configuration,
    layers: [
      {
        mediaType: 'application/vnd.oci.image.layer.v1.tar',
        digest: `sha256:${layerDigest}`,
        size: (await stat(layer)).size,
      },
    ],
  });
  await writeFile(join(folder, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  await writeFile(
    join(folder, 'index.json'),
    JSON.stringify({
      schemaVersion: 2,
      manifests: [{ ...manifest, annotations: { 'io.containerd.image.name': name } }],
    }),
  );
}

async function digestOf(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Removes all archives of an image except the newest. */
async function forget(folder: string, stem: string): Promise<void> {
  const files = (await readdir(folder)).filter((file) => file.startsWith(`${stem}-`) && file.endsWith('.tar'));
  const dated = await Promise.all(files.map(async (file) => ({ file, ms: (await stat(join(folder, file))).mtimeMs })));
  for (const { file } of dated.sort((a, b) => b.ms - a.ms).slice(KEPT)) await rm(join(folder, file), { force: true });
}
