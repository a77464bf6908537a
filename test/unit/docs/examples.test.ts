/**
 * Every example in docs/examples is right as `mgw validate` sees it, and so are the manifests that a page of the
 * documentation shows.
 */
import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'vitest';
import { mgw, tempFolder } from '../../support/cli.ts';

const ROOT = join(import.meta.dirname, '../../..');
const EXAMPLES = join(ROOT, 'docs', 'examples');
/** Warnings that an example is meant to have: Secrets that belong beside it. */
const EXPECTED_WARNINGS: Readonly<Record<string, number>> = { 'openai-and-anthropic': 2 };

describe('examples', () => {
  // that of a cluster holds manifests of other kinds too; its first-call is as the others are
  const folders = [...readdirSync(EXAMPLES).filter((name) => !name.endsWith('.mgw-data') &&
    name !== 'kubernetes'), 'kubernetes/first-call'];
  it('are there', () => assert.ok(folders.length >= 6 && folders.includes('quickstart')));

  for (const folder of folders) {
    it(folder, async () => {
      const warnings = EXPECTED_WARNINGS[folder] ?? 0;
      const { exitCode, stdout } = await mgw(['validate', join(EXAMPLES, folder)]);
      assert.equal(exitCode, 0, stdout);
      assert.ok(stdout.endsWith(`no errors, ${warnings === 0 ? 'no' : warnings} warnings\n`), stdout);
    });
  }
});

describe('manifests in the documentation', () => {
  // The reference shows each kind by itself; its manifests are checked with the schema.
  const pages =
    ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].filter((page) => page !== 'docs/reference.md').sort();
  it('are there', () => assert.ok(manifestsIn('README.md').length >= 4));
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

describe('links in the documentation', () => {
  for (const page of ['README.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })].sort()) {
    it(page, () => {
      const links = [...readFileSync(join(ROOT, page), 'utf8')
        .matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target);
      for (const target of links) if (!/^https?:/.test(target))
        assert.ok(existsSync(join(ROOT, dirname(page), target)), target);
    });
  }
});

/** The YAML blocks of a page that hold whole manifests. */
function manifestsIn(page: string): string[] {
  const blocks =
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```/gm)].map(([, text = '']) => text);
  return blocks.filter((text) => /^apiVersion: modelgateway\.dev\//m.test(text));
}
