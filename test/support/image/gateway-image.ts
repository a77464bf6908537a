/**
 * The image of the gateway, with the file system that the Dockerfile makes: the same files of the repository, what
 * package-lock.json has for production, the pinned Node.js, compiled once by the user who runs it. The libraries are
 * this machine's; the Dockerfile takes them from its bases. To run the programs in it before it is an image shows that
 * nothing is missing.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chown, cp, glob, mkdir, readFile, readlink, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { makeImage } from './archive.ts';
import type { Image } from './archive.ts';
import { imageConfig, readDockerfile } from './dockerfile.ts';
import type { Dockerfile } from './dockerfile.ts';
import { addBase, addFile, librariesOf } from './root-folder.ts';

const run = promisify(execFile);
const REPOSITORY = join(import.meta.dirname, '../../..');
const OF_THIS = ['archive.ts', 'dockerfile.ts', 'gateway-image.ts', 'root-folder.ts'];
/** In the Dockerfile, a package provides these libraries; the base image has the others. */
const BESIDE = /\/libatomic\.so/;
const USER = 65532;
/** By its path, since the environment is the image's. */
const CHROOT = '/usr/sbin/chroot';

/** `model-gateway:<version of package.json>`; of another checkout where one is named. */
export async function makeGatewayImage(root: string = REPOSITORY): Promise<Image> {
  const dockerfile = await readDockerfile(root);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const sources = await sourcesOf(root, dockerfile);
  const key = createHash('sha256');
  for (const path of [...sources, 'Dockerfile', '.dockerignore'])
    key
      .update(`${path}\0`)
      .update(await readFile(join(root, path)))
      .update('\0');
  for (const path of OF_THIS) key.update(await readFile(join(import.meta.dirname, path)));
  return makeImage({
    name: `docker.io/library/model-gateway:${version}`,
    config: imageConfig(dockerfile),
    key: key.digest('hex'),
    fill: (target) => fill(root, target, { dockerfile, sources }),
  });
}

/** The files of the repository that the image copies. */
async function sourcesOf(root: string, { copied, reachesBuild }: Dockerfile): Promise<string[]> {
  const found = await Promise.all(
    [...copied, 'LICENSE'].map((path) =>
      Array.fromAsync(glob([path, `${path}/**`], { cwd: root, withFileTypes: true })),
    ),
  );
  const files = found
    .flat()
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return [...new Set(files)].filter(reachesBuild).sort();
}

async function fill(
  root: string,
  target: string,
  { dockerfile, sources }: { readonly dockerfile: Dockerfile; readonly sources: readonly string[] },
): Promise<void> {
  await addBase(target);
  await addModules(root, join(target, 'app'), dockerfile);
  for (const path of sources) await addFile(target, join(root, path), join('app', path));
  const node = join(root, 'node_modules/.bin/node');
  for (const library of await librariesOf(node))
    await addFile(target, library, BESIDE.test(library) ? join('app/lib', basename(library)) : library);
  const kept = join(target, dirname(dockerfile.compileCache));
  await mkdir(kept, { recursive: true });
  await chown(kept, USER, USER);
  const { Env: env = [] } = imageConfig(dockerfile);
  const environment = {
    ...Object.fromEntries(env.map((each) => each.split(/=(.*)/s, 2) as [string, string])),
    NODE_COMPILE_CACHE: dockerfile.compileCache,
  };
  await run(
    CHROOT,
    [
      `--userspec=${USER}:${USER}`,
      target,
      '/app/node_modules/.bin/node',
      '--input-type=module',
      '--eval',
      dockerfile.compileScript,
    ],
    { env: environment },
  );
  await run('chown', ['--recursive', 'root:root', kept]);
}

/** Copies the production packages into node_modules, without unused files. */
export async function addModules(root: string, app: string, { pruneScript }: Dockerfile): Promise<void> {
  await copyModules(root, app);
  await run('sh', ['-ec', pruneScript], {
    cwd: app,
    env: {
      PATH: `${join(app, 'node_modules/.bin')}:${process.env['PATH']}`,
    },
  });
}

interface LockedPackage {
  readonly dev?: boolean;
}

/** The packages that `npm ci --omit=dev` would install, out of the installed ones. */
async function copyModules(root: string, app: string): Promise<void> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const kept = new Set(
    Object.entries(packages)
      .filter(([path, { dev }]) => path !== '' && !dev)
      .map(([path]) => path),
  );
  const isPackage = (path: string): boolean => path in packages;
  // a nested package may be needed only by a development dependency
  for (const path of kept) {
    const filter = (source: string): boolean => source === join(root, path) || !isPackage(relative(root, source));
    await cp(join(root, path), join(app, path), { recursive: true, filter, verbatimSymlinks: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error; // of another platform
      },
    );
  }
  await mkdir(join(app, 'node_modules/.bin'), { recursive: true });
  for await (const entry of glob('*', { cwd: join(root, 'node_modules/.bin') })) {
    const to = await readlink(join(root, 'node_modules/.bin', entry));
    const path = relative(root, resolve(root, 'node_modules/.bin', to));
    if ([...kept].some((each) => path.startsWith(`${each}/`))) await symlink(to, join(app, 'node_modules/.bin', entry));
  }
}
