/** Images of Valkey, Envoy and a pod's sandbox, built from the programs that the tests use, under the chart's names. */
import { createHash } from 'node:crypto';
import { access, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { makeImage } from './archive.ts';
import type { Image } from './archive.ts';
import { addBase, addProgram } from './root-folder.ts';

const VALUES = join(import.meta.dirname, '../../../charts/model-gateway/values.yaml');

interface ChartImages {
  readonly valkey: { readonly image: { readonly repository: string; readonly tag: string } };
  readonly edge: { readonly image: { readonly repository: string; readonly tag: string } };
}

async function nameOf(component: keyof ChartImages): Promise<string> {
  const {
    [component]: { image },
  } = parse(await readFile(VALUES, 'utf8')) as ChartImages;
  return `docker.io/${image.repository}:${image.tag}`;
}

/** Paths with sizes and dates: enough for programs that are installed, not edited. */
async function keyOf(paths: readonly string[]): Promise<string> {
  const known = await Promise.all(
    paths.map(async (path) => [path, (await stat(path)).size, (await stat(path)).mtimeMs]),
  );
  const recipe = await Promise.all(
    ['other-images.ts', 'root-folder.ts', 'archive.ts'].map((file) =>
      readFile(join(import.meta.dirname, file), 'utf8'),
    ),
  );
  return createHash('sha256')
    .update(JSON.stringify([known, recipe]))
    .digest('hex');
}

/**
 * A shell and the server, as in the chart's image: `server` is valkey-server or redis-server, with its client beside
 * it.
 */
export async function makeValkeyImage(server: string): Promise<Image> {
  const clients = ['valkey-cli', 'redis-cli'].map((name) => join(dirname(server), name));
  const exist = await Promise.all(
    clients.map((path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    ),
  );
  const client = clients.find((_, index) => exist[index]);
  if (client === undefined) throw new Error(`no valkey-cli or redis-cli beside ${server}`);
  const programs = {
    '/bin/sh': '/bin/sh',
    '/bin/cat': '/bin/cat',
    '/bin/grep': '/bin/grep',
    '/usr/local/bin/valkey-server': server,
    '/usr/local/bin/valkey-cli': client,
  };
  return makeImage({
    name: await nameOf('valkey'),
    key: await keyOf(Object.values(programs)),
    config: {
      Entrypoint: [],
      Cmd: ['valkey-server'],
      Env: ['PATH=/usr/local/bin:/usr/bin:/bin'],
      WorkingDir: '/data',
    },
    async fill(root) {
      await addBase(root);
      for (const [target, source] of Object.entries(programs)) await addProgram(root, source, target);
    },
  });
}

/** Envoy alone, as in the distroless image. */
export async function makeEnvoyImage(envoy: string): Promise<Image> {
  return makeImage({
    name: await nameOf('edge'),
    key: await keyOf([envoy]),
    config: {
      Entrypoint: ['/usr/local/bin/envoy'],
      Cmd: ['-c', '/etc/envoy/envoy.yaml'],
      Env: ['PATH=/usr/local/bin'],
      User: '65532:65532',
      WorkingDir: '/',
    },
    async fill(root) {
      await addBase(root);
      await addProgram(root, envoy, '/usr/local/bin/envoy');
    },
  });
}

export const PAUSE_IMAGE = 'localhost/pause:1';

/** The process that holds a pod's namespaces. */
export async function makePauseImage(pause: string): Promise<Image> {
  return makeImage({
    name: PAUSE_IMAGE,
    key: await keyOf([pause]),
    config: { Entrypoint: ['/pause'], User: '65532:65532', WorkingDir: '/' },
    fill: (root) => addProgram(root, pause, '/pause'),
  });
}
