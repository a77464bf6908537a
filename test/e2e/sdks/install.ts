/**
 * Installs the pinned SDKs of each language into a cache and makes the program in its folder ready to run, once per set
 * of pins. What is missing and no package of Debian is a reason to skip, or an error with CI=true.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { buildFailure, cacheFolder, goBuild, once } from '../../support/kube/go-build.ts';
import { installPackages } from '../../support/needs.ts';

const run = promisify(execFile);

const GO_MODULES = [
  'github.com/openai/openai-go/v3@v3.99.0',
  'github.com/anthropics/anthropic-sdk-go@v1.84.0',
  'google.golang.org/genai@v1.77.0',
];

export type Language = 'python' | 'go' | 'java';

/** How the program is started, or why it cannot be. */
export type Installed = { readonly skip: false; readonly command: readonly string[] } | { readonly skip: string };

interface Build {
  /** The files of the language's folder that decide what is installed. */
  readonly files: readonly string[];
  readonly install: (folder: string, source: string) => Promise<void>;
  readonly command: (folder: string) => readonly string[];
  readonly needs: string;
}

const BUILDS: Readonly<Record<Language, Build>> = {
  python: {
    files: ['requirements.txt'],
    async install(folder, source) {
      await run('python3', ['-m', 'venv', join(folder, 'venv')]);
      const pins = join(source, 'requirements.txt');
      await run(join(folder, 'venv/bin/python'), ['-m', 'pip', 'install', '--quiet', '--requirement', pins]);
    },
    command: (folder) => [join(folder, 'venv/bin/python'), join(import.meta.dirname, 'python/endpoints.py')],
    needs: 'Python 3 with pip and venv',
  },
  go: {
    files: ['main.go'],
    async install(folder, source) {
      const files = { 'main.go': await readFile(join(source, 'main.go'), 'utf8') };
      await goBuild(folder, { name: 'endpoints', package: '.', modules: GO_MODULES, files });
    },
    command: (folder) => [join(folder, 'endpoints')],
    needs: 'Go',
  },
  java: {
    files: ['pom.xml', 'Endpoints.java'],
    async install(folder, source) {
      await needJdk();
      await cp(source, folder, { recursive: true });
      const jars = ['dependency:copy-dependencies', '-DoutputDirectory=jars'];
      await run('mvn', ['--quiet', '--batch-mode', ...jars], { cwd: folder });
      await run('javac', ['-nowarn', '-cp', 'jars/*', '-d', 'classes', 'Endpoints.java'], { cwd: folder });
    },
    command: (folder) => ['java', '-cp', `${join(folder, 'classes')}:${join(folder, 'jars')}/*`, 'Endpoints'],
    needs: 'a JDK, 17 or newer, and Maven',
  },
};

/** Rejects only with CI=true, where a language must not be left out unnoticed. */
export async function installSdks(language: Language): Promise<Installed> {
  const { files, install, command, needs } = BUILDS[language];
  const source = join(import.meta.dirname, language);
  const digest = createHash('sha256').update(GO_MODULES.join());
  for (const file of files) digest.update(await readFile(join(source, file)));
  const folder = cacheFolder(process.env, `sdks-${language}-${digest.digest('hex').slice(0, 12)}`);
  const complete = join(folder, 'complete');
  try {
    await once(
      folder,
      () => exists(complete),
      async () => {
        await install(folder, source);
        await writeFile(complete, '');
      },
    );
  } catch (error) {
    if (process.env['CI'] === 'true') throw error;
    return { skip: `the SDKs of ${language} cannot be installed: install ${needs} (${buildFailure(error)})` };
  }
  return { skip: false, command: command(folder) };
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Installs Debian's packages where `javac` or `mvn` is missing. */
async function needJdk(): Promise<void> {
  try {
    await run('javac', ['-version']);
    await run('mvn', ['--version']);
  } catch (error) {
    const failure = await installPackages(['default-jdk-headless', 'maven']);
    if (failure !== undefined) throw new Error(failure, { cause: error });
  }
}
