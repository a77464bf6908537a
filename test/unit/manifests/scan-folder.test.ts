/** Files of a folder that are not UTF-8. */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { formatDiagnostic } from '#manifests/diagnostic.ts';
import { readFiles, scanFolder } from '#manifests/scan-folder.ts';
import { tempFolder } from '../../support/cli.ts';
import { newLoader } from '../operator/support.ts';

const NAMESPACE = 'apiVersion: v1\nkind: Namespace\nmetadata: {name: gr\u00fcn}\n';
const UTF_16 = 'the file is UTF-16; save it as UTF-8';
const LATIN_1 = 'this line has a character that is not UTF-8; save the file as UTF-8';

for (const [what, bytes, said] of [
  ['UTF-16 with a byte order mark', Buffer.from(`\ufeff${NAMESPACE}`, 'utf16le'), `1:1: error: YAML: ${UTF_16}`],
  ['big-endian UTF-16', Buffer.from(`\ufeff${NAMESPACE}`, 'utf16le').swap16(), `1:1: error: YAML: ${UTF_16}`],
  ['UTF-16 without a mark', Buffer.from(NAMESPACE, 'utf16le'), `1:1: error: YAML: ${UTF_16}`],
  ['Latin-1', Buffer.from(NAMESPACE, 'latin1'), `3:1: error: YAML: ${LATIN_1}`],
  ['Latin-1 without a last line break', Buffer.from(NAMESPACE.trimEnd(), 'latin1'), `3:1: error: YAML: ${LATIN_1}`],
] as const)
  test(`${what} is an error with a hint`, async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'a.yaml');
    await writeFile(path, bytes);
    const { files } = await scanFolder(folder.path);
    const read = await readFiles(files, new Map());
    const loaded = newLoader()([...(read?.values() ?? [])]);
    assert.equal(loaded.isValid, false);
    assert.deepEqual((await loaded.diagnose()).map(formatDiagnostic), [`${path}:${said}`]);
  });

test('UTF-8 is read with and without a byte order mark', async () => {
  const text = NAMESPACE.replace('gr\u00fcn', 'one, annotations: {a: gr\u00fcn}');
  await using folder = await tempFolder({ 'a.yaml': text, 'b.yaml': `\ufeff${text.replace('one', 'two')}` });
  const { files } = await scanFolder(folder.path);
  const read = await readFiles(files, new Map());
  const { resources, isValid } = newLoader()([...(read?.values() ?? [])]);
  assert.ok(isValid);
  assert.deepEqual([...resources.namespaces.keys()], ['one', 'two']);
});
