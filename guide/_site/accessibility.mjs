// Runs axe over each page of the built site, light and dark, at two widths, in a browser without a screen.
//
//     node accessibility.mjs SITE MODULES BROWSER [FOLDER [PAGE…]]
//
// MODULES is the folder `node_modules` that has axe-core and playwright-core. With FOLDER it leaves a screenshot of each view there.
// A finding that axe calls serious or critical is a failure.

import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [site, modules, browserPath, folder, ...wanted] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "x.js"));
const { chromium } = require("playwright-core");
const axe = require.resolve("axe-core/axe.min.js");
const widths = [390, 1280];
const themes = ["light", "dark"];

/** The pages of the site that Sphinx made; those of rustdoc are rustdoc's. */
function pages(of) {
    return fs.readdirSync(of, { withFileTypes: true }).flatMap((entry) => {
        const file = path.join(of, entry.name);
        if (entry.isDirectory()) return ["rust", "_static", "_sources"].includes(entry.name) ? [] : pages(file);
        return entry.name.endsWith(".html") ? [file] : [];
    });
}

const root = path.resolve(site);
const all = pages(root)
    .filter((file) => file !== path.join(root, "index.html")) // leads on at once
    .filter((file) => wanted.length === 0 || wanted.some((name) => file.endsWith(name)))
    .sort();
const browser = await chromium.launch({
    executablePath: browserPath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
let views = 0;
const findings = new Map();
for (const theme of themes) {
    for (const width of widths) {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme });
        // What is on other hosts is not needed.
        await context.route(/^https?:/, (route) => route.abort());
        for (const file of all) {
            const page = await context.newPage();
            await page.addInitScript((mode) => {
                localStorage.setItem("mode", mode);
                localStorage.setItem("theme", mode);
            }, theme);
            await page.goto(pathToFileURL(file).href, { waitUntil: "load" });
            const name = path.relative(root, file);
            const shown = await page.evaluate(() => document.documentElement.dataset.theme);
            if (shown !== theme) throw new Error(`${name} has the theme ${shown}, not ${theme}`);
            const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            const note = (text) => findings.set(text, [...(findings.get(text) ?? []), `${name} ${theme} ${width}`]);
            if (overflow > 1) note("page-width [serious] the page is wider than the window");
            await page.addScriptTag({ path: axe });
            const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
            for (const { id, impact, help, nodes } of violations) {
                for (const { target } of nodes) note(`${id} [${impact}] ${help}: ${target.join(" ")}`);
            }
            if (folder) {
                const shot = `${name.replaceAll(path.sep, "-")}-${theme}-${width}.png`;
                await page.screenshot({ path: path.join(folder, shot), fullPage: true });
            }
            views += 1;
            await page.close();
        }
        await context.close();
    }
}
await browser.close();
let serious = 0;
for (const [text, where] of findings) {
    serious += /\[(serious|critical)\]/.test(text) ? 1 : 0;
    console.log(`${text}\n    ${where.length} views, the first: ${where[0]}`);
}
console.log(`${all.length} pages, ${views} views, ${findings.size} findings, ${serious} of them serious`);
process.exit(serious === 0 && views > 0 ? 0 : 1);
