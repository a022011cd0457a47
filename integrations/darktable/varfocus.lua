--[[
varfocus for darktable: a target in the export module that makes one picture with everything in
focus of the selected images, and imports it.

Install: copy this file into the folder lua/ of darktable's configuration (Linux and macOS:
~/.config/darktable/lua/, Windows: %LOCALAPPDATA%\darktable\lua\) and add the line

    require "varfocus"

to the file luarc beside that folder. Then choose the images of a stack, "varfocus" as target
storage in the export module, TIFF with 16 bit as format, and export.

Two ways: "developed pictures" exports the images as they are developed and fuses those, with the
profile they are exported in. "RAW files" takes the camera's own files as they are and makes a linear
DNG of them, to be developed afterwards.
]]

local dt = require "darktable"

local MODULE = "varfocus"
local WINDOWS = dt.configuration.running_os == "windows"
local SEPARATOR = WINDOWS and "\\" or "/"

dt.preferences.register(
    MODULE, "program", "string", "varfocus: program",
    "the command that starts varfocus, with its path where it is not found without", "varfocus"
)

local way = dt.new_widget("combobox") {
    label = "fuse",
    tooltip = "developed pictures: as exported, into a TIFF. RAW files: as the camera wrote them, into a linear DNG",
    value = 1,
    "developed pictures", "RAW files",
}

local options = dt.new_widget("entry") {
    text = "",
    placeholder = "options, such as --sharper 2",
    tooltip = "options of varfocus fuse",
}

-- A word as the shell takes it literally.
local function quoted(word)
    if WINDOWS then
        return '"' .. word:gsub('"', "") .. '"'
    end
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function base_name(filename)
    return (filename:gsub("%.[^.]*$", ""))
end

local function is_there(path)
    local file = io.open(path, "rb")
    if file then
        file:close()
    end
    return file ~= nil
end

-- A name that is not taken: nothing is overwritten.
local function free_name(folder, name, suffix)
    local path, number = folder .. SEPARATOR .. name .. suffix, 1
    while is_there(path) do
        number = number + 1
        path = folder .. SEPARATOR .. name .. "-" .. number .. suffix
    end
    return path
end

local function make_folder(folder)
    if WINDOWS then
        dt.control.execute('if not exist "' .. folder .. '" mkdir "' .. folder .. '"')
    else
        dt.control.execute("mkdir -p " .. quoted(folder))
    end
end

local function supported(_, format)
    local extension = string.lower(format.extension or "")
    return extension == "tif" or extension == "tiff" or extension == "png" or extension == "jpg"
end

local function report(_, image, _, _, number, total, _, _)
    dt.print(string.format("varfocus: exported %d of %d", number, total))
end

-- Fuse what was exported, and import the result beside the first image.
local function finalize(_, exported, _)
    local images = {}
    for image, _ in pairs(exported) do
        table.insert(images, image)
    end
    table.sort(images, function(a, b) return a.filename < b.filename end)
    if #images < 3 then
        dt.print("varfocus: select the frames of a focus stack, at least 3")
        return
    end
    local raw = way.value == "RAW files"
    local first, last = images[1], images[#images]
    local folder = first.path .. SEPARATOR .. "fused"
    make_folder(folder)
    local name = base_name(first.filename) .. "-" .. base_name(last.filename)
    local output = free_name(folder, name, raw and ".dng" or ".tif")
    local words = { quoted(dt.preferences.read(MODULE, "program", "string")), "fuse", "--by-name" }
    for _, image in ipairs(images) do
        table.insert(words, quoted(raw and image.path .. SEPARATOR .. image.filename or exported[image]))
    end
    table.insert(words, "-o")
    table.insert(words, quoted(output))
    if options.text ~= "" then
        table.insert(words, options.text)
    end
    local command = table.concat(words, " ")
    dt.print("varfocus: fusing " .. #images .. " images")
    dt.print_log(command)
    local code = dt.control.execute(WINDOWS and '"' .. command .. '"' or command)
    if code > 255 then -- darktable passes on what wait() says
        code = code // 256
    end
    for _, path in pairs(exported) do
        os.remove(path)
    end
    if code ~= 0 or not is_there(output) then
        dt.print("varfocus failed (code " .. tostring(code) .. "): start darktable with -d lua to see why")
        return
    end
    local result = dt.database.import(output)
    result:group_with(first)
    dt.print("varfocus: made " .. output)
end

dt.register_storage(
    MODULE, "varfocus: everything in focus", report, finalize, supported, nil,
    dt.new_widget("box") { orientation = "vertical", way, options }
)
