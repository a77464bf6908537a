/**
 * A folder that becomes an image's file system, with programs of this machine, the libraries and the loader that `ldd`
 * lists, and the files of a base image: users, name service, certificate authorities, /tmp.
 */
import { execFile } from 'node:child_process';
import { access, chmod, copyFile, mkdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
/** glibc loads it itself, so ldd does not list it; newer versions include it in libc. */
const RESOLVER = ['/lib/x86_64-linux-gnu/libnss_dns.so.2', '/lib/aarch64-linux-gnu/libnss_dns.so.2'];

/** The files that a program is linked with, by the paths at which its loader looks for them. */
export async function librariesOf(program: string): Promise<string[]> {
  // ldd fails for a static program, which has none
  const { stdout } = await run('ldd', [program]).catch(() => ({ stdout: '' }));
  return [...stdout.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, path = '']) => path);
}

/** Copies a file to a path within the folder; symbolic links are resolved. */
export async function addFile(root: string, source: string, target: string = source): Promise<void> {
  const path = join(root, target);
  await mkdir(dirname(path), { recursive: true });
  await copyFile(await realpath(source), path);
}

/** A program with its libraries, at a path within the folder. */
export async function addProgram(root: string, source: string, target: string): Promise<void> {
  await addFile(root, source, target);
  await chmod(join(root, target), 0o755);
  for (const library of await librariesOf(source)) await addFile(root, library);
}

/** The files of every base image. */
export async function addBase(root: string): Promise<void> {
  for (const folder of ['etc', 'proc', 'sys', 'dev', 'run', 'var/run', 'tmp'])
    await mkdir(join(root, folder), { recursive: true });
  await chmod(join(root, 'tmp'), 0o1777);
  await writeFile(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n',
  );
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nnonroot:x:65532:\n');
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  for (const file of [AUTHORITIES, ...RESOLVER])
    if (
      await access(file).then(
        () => true,
        () => false,
      )
    )
      await addFile(root, file);
}
