/**
 * package-lock.json names everything that could be installed, so that `npm ci` takes it on every machine, and has the
 * hash of all that Linux installs. Some registries lack optional builds of development tools for other machines: these
 * entries have no hash until `npm install` is run where the packages can be had.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'vitest';

interface Package {
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const { packages } = JSON.parse(await readFile(join(import.meta.dirname, '../../package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, Package>>;
};

/** Of the image, of CI and of most servers. */
function isForLinux({ os = ['linux'], cpu = ['x64'], libc = ['glibc'] }: Package): boolean {
  return os.includes('linux') && libc.includes('glibc') && cpu.some((each) => each === 'x64' || each === 'arm64');
}

describe('package-lock.json', () => {
  it('lists every optional package', () => {
    const named = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies));
    assert.ok(named.length > 50);
    assert.deepEqual(
      named.filter((name) => !Object.keys(packages).some((path) => path.endsWith(`node_modules/${name}`))),
      [],
    );
  });

  it('has the hash of all packages except development tools for other machines', () => {
    const without = Object.entries(packages).filter(([path, { integrity }]) => path !== '' && integrity === undefined);
    assert.deepEqual(
      without.filter(([, each]) => !each.dev || !each.optional || isForLinux(each)),
      [],
    );
  });
});
