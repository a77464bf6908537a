/** Every example in docs/examples passes `mgw validate`, and so do the manifests in the documentation's pages. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { mgw, tempFolder } from '../../support/cli.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'docs', 'examples');
/** Expected warnings of an example: Secrets that users add. */
const EXPECTED_WARNINGS: Readonly<Record<string, number>> = {
  'openai-and-anthropic': 2,
  'gitops/models': 2,
  clouds: 1,
};

describe('examples', () => {
  // these contain other kinds of manifests, or other files
  const others = ['kubernetes', 'gitops', 'kind', 'monitoring', 'tenants'];
  const folders = [
    ...readdirSync(EXAMPLES).filter((name) => !name.endsWith('.mgw-data') && !others.includes(name)),
    'kubernetes/first-call',
    'gitops/models',
  ];
  it('exist', () => assert.ok(folders.length >= 6 && folders.includes('quickstart')));

  for (const folder of folders) {
    it(folder, async () => {
      const warnings = EXPECTED_WARNINGS[folder] ?? 0;
      const { exitCode, stdout } = await mgw(['validate', join(EXAMPLES, folder)]);
      assert.equal(exitCode, 0, stdout);
      const said = warnings === 1 ? '1 warning' : `${warnings === 0 ? 'no' : warnings} warnings`;
      assert.ok(stdout.endsWith(`no errors, ${said}\n`), stdout);
    });
  }
});

describe('the objects of the first call, which the notes of the chart print', () => {
  /** The objects of a folder as "Kind namespace/name". */
  const objectsOf = (folder: string): readonly string[] =>
    globSync('**/*.yaml', { cwd: join(EXAMPLES, folder) })
      .flatMap((file) => parseAllDocuments(readFileSync(join(EXAMPLES, folder, file), 'utf8')))
      .map((document) => document.toJS() as { kind: string; metadata: { name: string; namespace?: string } })
      .map(({ kind, metadata: { name, namespace = 'model-gateway' } }) => `${kind} ${namespace}/${name}`);

  it('have other names than those of the repository for GitOps, which would take them over', () => {
    const [first, gitops] = [objectsOf('kubernetes/first-call'), objectsOf('gitops/models')];
    assert.ok(first.length > 4 && gitops.length > 4);
    assert.deepEqual(
      first.filter((id) => gitops.includes(id)),
      [],
    );
  });
});

describe('helm upgrade', () => {
  it('is documented everywhere with the flag that also takes the values of a new chart', () => {
    const files = globSync(['*.md', 'docs/**/*.{md,sh,yaml}', 'charts/**/*.{txt,md,yaml,tpl}'], { cwd: ROOT });
    const naming = (flag: string): readonly string[] =>
      files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes(flag));
    assert.ok(naming('--reset-then-reuse-values').length >= 4);
    assert.deepEqual(naming(' --reuse-values'), []);
  });
});

describe('the repository for GitOps', () => {
  const REPOSITORY = join(EXAMPLES, 'gitops');
  const validateAfter = async (
    edit: (folder: string) => Promise<void>,
  ): Promise<{ readonly exitCode: number | null; readonly stdout: string; readonly gpt4o: unknown }> => {
    await using folder = await tempFolder({});
    await cp(join(REPOSITORY, 'models'), join(folder.path, 'models'), { recursive: true });
    await edit(folder.path);
    const catalog = parse(await readFile(join(folder.path, 'models/platform/prices.yaml'), 'utf8'));
    return { ...(await mgw(['validate', join(folder.path, 'models')])), gpt4o: catalog.spec.models[0].modelRatio };
  };
  const pullRequest = async (cwd: string): Promise<void> => {
    await run('git', ['apply', join(REPOSITORY, 'pull-requests/price-change.patch')], { cwd });
  };

  it('has a pull request that changes a price and is valid', async () => {
    const { exitCode, stdout, gpt4o } = await validateAfter(pullRequest);
    assert.deepEqual([exitCode, gpt4o], [0, '2'], stdout);
  });
  it('has its pull request refused with a mistake, by file and line', async () => {
    const { exitCode, stdout } = await validateAfter(async (folder) => {
      await pullRequest(folder);
      const prices = join(folder, 'models/platform/prices.yaml');
      await writeFile(prices, (await readFile(prices, 'utf8')).replace("modelRatio: '2'", 'modelRatio: 2'));
    });
    assert.equal(exitCode, 1, stdout);
    assert.match(stdout, /prices\.yaml:11(:\d+)?: error: .*modelRatio/);
  });
  it('has the folders that Argo CD and Flux refer to', async () => {
    const paths = ['argocd/applications.yaml', 'flux/models.yaml'].flatMap((file) =>
      [...readFileSync(join(REPOSITORY, file), 'utf8').matchAll(/\bpath: ([^\s,}]+)/g)].map(([, path = '']) => path),
    );
    assert.deepEqual(paths, ['models/platform', 'models/teams', './models']);
    for (const path of paths) assert.ok(existsSync(join(REPOSITORY, path)), path);
  });
});

describe('manifests in the documentation', () => {
  // The reference shows each kind by itself; its manifests are checked with the schema.
  const pages = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })]
    .filter((page) => page !== 'docs/reference/resources.md')
    .sort();
  it('exist', () => assert.ok(manifestsIn('docs/tutorials/own-models.md').length >= 4));
  for (const page of pages) {
    const manifests = manifestsIn(page);
    if (manifests.length === 0) continue;
    it(page, async () => {
      await using folder = await tempFolder({ 'page.yaml': manifests.join('\n---\n') });
      const { exitCode, stdout } = await mgw(['validate', folder.path]);
      assert.equal(exitCode, 0, stdout);
    });
  }
});

/** The YAML blocks of a page that contain whole manifests. */
function manifestsIn(page: string): string[] {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(
    ([, text = '']) => text,
  );
  return blocks.filter((text) => /^apiVersion: modelgateway\.dev\//m.test(text));
}
