// Bundle what the pages run into the folder that is named: app.js (small), the charts (fetched only by pages that have any) and app.css.
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const into = process.argv[2];
rmSync(into, { recursive: true, force: true });
await build({
  entryPoints: ["app.js", "theme.js", "app.css"],
  outdir: into,
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  chunkNames: "[name]-[hash]",
  legalComments: "none",
});
cpSync("icon.svg", `${into}/icon.svg`);

// The licences of what is in the bundle go where the bundle goes.
const packages = ["echarts", "htmx.org", "tslib", "zrender"];
const texts = packages.map((name) => {
  const folder = `node_modules/${name}`;
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  return `${name} ${JSON.parse(readFileSync(`${folder}/package.json`)).version}\n\n${readFileSync(`${folder}/${file}`)}`;
});
writeFileSync(`${into}/licences.txt`, texts.join(`\n\n${"-".repeat(80)}\n\n`));

// The pages name the files with this, so that a browser never keeps an old one.
const digest = createHash("sha256");
for (const name of ["app.js", "theme.js", "app.css"]) digest.update(readFileSync(`${into}/${name}`));
writeFileSync(`${into}/version.txt`, digest.digest("hex").slice(0, 12) + "\n");
