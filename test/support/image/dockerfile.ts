/**
 * Reads the Dockerfile: which files of the repository it copies, and how its last stage is run. The test node's image
 * is built from this, so that the two cannot differ.
 */
import { readFile } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';

/** The start of a container, in the terms of the OCI image configuration. */
export interface ImageConfig {
  readonly Entrypoint: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly User?: string;
  readonly WorkingDir?: string;
}

export interface Dockerfile {
  readonly text: string;
  /** One line each. */
  readonly instructions: readonly string[];
  readonly lastStage: readonly string[];
  /** Files and folders of the repository that the image copies. */
  readonly copied: readonly string[];
  /** The commands that remove unused files from node_modules, run in its parent folder. */
  readonly pruneScript: string;
  /** The program that compiles all modules while the image is built. */
  readonly compileScript: string;
  /** The folder of the compiled modules. */
  readonly compileCache: string;
  /** Whether a file of the repository is in the build context. */
  readonly reachesBuild: (path: string) => boolean;
}

/** Reads Dockerfile and .dockerignore of a checkout. */
export async function readDockerfile(root: string): Promise<Dockerfile> {
  const text = await readFile(join(root, 'Dockerfile'), 'utf8');
  const ignored = (await readFile(join(root, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  const instructions = text
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => /^[A-Z]+ /.test(line));
  const build = instructions.join('\n');
  const copies = instructions.filter((line) => line.startsWith('COPY ') && !line.includes('--from'));
  return {
    text,
    instructions,
    lastStage: instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM '))),
    copied: copies.flatMap((line) => line.split(/\s+/).slice(1, -1)).map((path) => path.replace(/\/$/, '')),
    pruneScript: instructions.find((line) => line.startsWith('RUN rm -rf node_modules/'))?.slice('RUN '.length) ?? '',
    compileScript: /--eval\s+'(.+?)'/.exec(build)?.[1] ?? '',
    compileCache: /NODE_COMPILE_CACHE=(\S+)/.exec(text)?.[1] ?? '',
    reachesBuild: (path) => reaches(path, ignored),
  };
}

/** The last pattern that matches the file, or a folder above it, decides. */
function reaches(path: string, patterns: readonly string[]): boolean {
  const above = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'));
  return patterns.reduce((sofar, line) => {
    const pattern = line.replace(/^!/, '');
    // Docker's * matches names that begin with a dot too
    return pattern === '*' || above.some((each) => matchesGlob(each, pattern)) ? line.startsWith('!') : sofar;
  }, true);
}

/** The image's configuration by the instructions of the last stage. */
export function imageConfig({ lastStage }: Dockerfile): ImageConfig {
  const arguments_ = (name: string): string | undefined =>
    lastStage
      .findLast((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1)
      .trim();
  const list = (name: string): string[] => JSON.parse(arguments_(name) ?? '[]') as string[];
  const env = lastStage
    .filter((line) => line.startsWith('ENV '))
    .flatMap((line) => line.slice('ENV '.length).trim().split(/\s+/));
  return {
    Entrypoint: list('ENTRYPOINT'),
    Cmd: list('CMD'),
    Env: env,
    User: arguments_('USER') ?? '',
    WorkingDir: arguments_('WORKDIR') ?? '/',
  };
}
